from thisthat.scale.replicas.metrics import joined
from thisthat.serve.metrics import Metrics


def test_every_sample_says_whose_it_is() -> None:
    one, two = Metrics(), Metrics()
    one.errors.labels("busy").inc(3)
    two.errors.labels("busy").inc(4)
    two.batch_size.observe(5)
    page = joined({"a": one.page(), "b": two.page()}).decode()
    assert 'thisthat_errors_total{kind="busy",replica="a"} 3.0' in page
    assert 'thisthat_errors_total{kind="busy",replica="b"} 4.0' in page
    assert 'thisthat_batch_size_bucket{le="8.0",replica="b"} 1.0' in page
    assert page.count("# TYPE thisthat_errors_total counter") == 1
