// What the theme leaves out for keyboards and screen readers.
document.addEventListener("DOMContentLoaded", () => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  for (const caption of all(".caption[role=heading]")) caption.ariaLevel = "2";
  for (const [side, name] of [[".sidebar-drawer", "Pages"], [".toc-drawer", "On this page"]]) {
    for (const aside of all(side)) aside.ariaLabel = name;
  }
  const renamed = (node, tag) => {
    const made = document.createElement(tag);
    made.className = node.className;
    made.append(...node.childNodes);
    node.replaceWith(made);
    return made;
  };
  // The parameters of a signature have no terms, and no header cell is empty.
  for (const list of all("dt dl")) for (const each of [...renamed(list, "ul").children]) renamed(each, "li");
  for (const cell of all("th")) if (!cell.textContent.trim()) renamed(cell, "td");
  // What scrolls sideways is reached with the Tab key, and only while it scrolls.
  const sized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const node of all("pre, .table-wrapper, .chart")) sized.observe(node);
});
