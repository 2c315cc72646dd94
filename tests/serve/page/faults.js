// What is wrong with the page that is shown, as a list of texts: names, ids, roles, headings,
// places that scroll, and the contrast of every text with what is behind it.
() => {
  const shown = (node) => node.checkVisibility({ visibilityProperty: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const text = (id) => document.getElementById(id)?.textContent.trim();
  const name = (node) => node.ariaLabel?.trim() || text(node.getAttribute("aria-labelledby"))
    || [...(node.labels ?? [])].map((each) => each.textContent.trim()).join(" ")
    || node.textContent.trim();
  const faults = [];
  const fault = (what, node) => faults.push(`${what}: ${node.outerHTML.slice(0, 120)}`);
  for (const node of all("button, a, input, textarea, select, summary, th, [role=region], dialog")) {
    if (!name(node)) fault("no name", node);
  }
  for (const node of all("[aria-controls], [aria-labelledby], [aria-describedby]")) {
    for (const attribute of ["aria-controls", "aria-labelledby", "aria-describedby"]) {
      for (const id of (node.getAttribute(attribute) ?? "").split(" ").filter(Boolean)) {
        if (!document.getElementById(id)) fault(`no #${id}`, node);
      }
    }
  }
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of ids.filter((each, at) => ids.indexOf(each) !== at)) faults.push(`#${id} twice`);
  for (const node of all("pre, .table, textarea")) {
    const scrolls = node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1;
    if (scrolls && node.tabIndex < 0) fault("scrolls but is not reached by keys", node);
  }
  for (const node of all("svg[role=img]")) if (!node.getAttribute("aria-label")) fault("no label", node);
  for (const list of all("[role=tablist]")) {
    const chosen = [...list.children].filter((tab) => tab.ariaSelected === "true");
    if (chosen.length !== 1) fault(`${chosen.length} tabs are selected`, list);
    if ([...list.children].filter((tab) => tab.tabIndex === 0).length !== 1) fault("tab stops", list);
  }
  const levels = all("h1, h2, h3").map((node) => Number(node.tagName[1]));
  levels.forEach((level, at) => { if (level > (levels[at - 1] ?? 0) + 1) faults.push(`h${level} too deep`); });

  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data].map((each) => each / 255);
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((each, at) => each * a + under[at] * (1 - a));
  const behind = (node) => {
    if (node === null) return rgba(getComputedStyle(document.body).backgroundColor).slice(0, 3);
    const own = rgba(getComputedStyle(node).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, behind(node.parentElement));
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let at = texts.nextNode(); at; at = texts.nextNode()) {
    const node = at.parentElement;
    if (!at.data.trim() || !shown(node) || node.closest(":disabled, .unseen, .skip, caption, option")) continue;
    const ground = behind(node);
    const ink = over(rgba(getComputedStyle(node).color), ground);
    const [high, low] = [light(ink), light(ground)].sort((one, other) => other - one);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) fault(`contrast ${ratio.toFixed(2)}`, node);
  }
  return [...new Set(faults)];
}
