from thisthat.rng import Rng
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.branch.families.routes.tool_selection import ACTIONS, FAMILY, OBJECTS, draw


def test_the_need_and_its_tool_mean_the_same() -> None:
    for number in range(1_000):
        rng = Rng("tools", number)
        case = draw(rng, Setting(2, rng.below(9), 0))
        item = FAMILY.item_for(case, rng, "train")
        action, thing = case.tools[case.wanted]
        assert isinstance(item.state, str)
        assert any(word in item.state for word in OBJECTS[thing][2])
        description = item.options[item.answer][1]
        assert description is not None
        assert OBJECTS[thing][1] in description
        assert description.split()[0] == ACTIONS[action][1].split()[0]


def test_there_can_be_255_tools() -> None:
    sizes = {len(draw(Rng("many", number), Setting(2, 12, 0)).tools) for number in range(60)}
    assert max(sizes) == 255
    assert len(ACTIONS) * len(OBJECTS) > 600


def test_descriptions_and_names_are_all_different() -> None:
    case = draw(Rng("different"), Setting(2, 8, 0))
    item = FAMILY.item_for(case, Rng("text"), "train")
    assert len({name for name, _ in item.options}) == len(item.options)
    assert len({text for _, text in item.options}) == len(item.options)
