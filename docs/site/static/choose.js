// Fills the list of versions and goes where one is chosen; targets are relative to the site's root.
(() => {
  const list = document.getElementById("versions");
  const root = document.documentElement.dataset.content_root ?? "./";
  list.replaceChildren(...VERSIONS.map((each) => new Option(each.label, root + each.target, each.this, each.this)));
  list.addEventListener("change", () => { location.href = list.value; });
  // Going back shows this version again, not the one that was chosen.
  addEventListener("pageshow", () => { list.selectedIndex = VERSIONS.findIndex((each) => each.this); });
})();
