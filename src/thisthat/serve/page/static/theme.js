// Light or dark, before the first paint: the system's choice unless this browser chose otherwise.
// A classic script on purpose: modules run too late and the page would flash.
(() => {
  const STORED = "thisthat.theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  function stored() {
    try {
      return localStorage.getItem(STORED);
    } catch {
      return null; // storage is switched off: follow the system
    }
  }

  function store(theme) {
    try {
      localStorage.setItem(STORED, theme);
    } catch {
      // storage is switched off: the choice lasts as long as the page
    }
  }

  function current() {
    return root.dataset.theme ?? (system.matches ? "dark" : "light");
  }

  const chosen = stored();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => {
      button.textContent = current() === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
    };
    button.addEventListener("click", () => {
      root.dataset.theme = current() === "dark" ? "light" : "dark";
      store(root.dataset.theme);
      label();
    });
    system.addEventListener("change", label);
    label();
  });
})();
