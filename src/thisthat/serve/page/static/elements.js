// Small helpers over the DOM. Text always goes in as text, never as markup.

let lastId = 0;

/** An id that no other element of the page has. */
export function freshId(stem) {
  lastId += 1;
  return `${stem}-${lastId}`;
}

/**
 * An element with properties, `on` listeners, `aria` attributes and children.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {{on?: Record<string, (event: any) => void>, aria?: Record<string, string>, [property: string]: any}} [given]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, { on = {}, aria = {}, ...properties } = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  for (const [name, value] of Object.entries(aria)) node.setAttribute(`aria-${name}`, value);
  node.append(...children);
  return node;
}

/**
 * The element of the page with this id.
 * @param {string} id
 * @returns {any} whoever asks knows of which kind
 */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Show `message` in a paragraph that is hidden when there is none.
 * @param {HTMLElement} paragraph
 * @param {string | null | undefined} message
 */
export function say(paragraph, message) {
  paragraph.textContent = message ?? "";
  paragraph.hidden = !message;
}

/**
 * Let a textarea be as tall as its text.
 * @param {HTMLTextAreaElement} textarea
 */
export function fitHeight(textarea) {
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight + 2}px`;
}

/**
 * A row of radio buttons that looks like one control; `pick` gets the chosen value.
 * @param {string} label
 * @param {[string, string][]} options
 * @param {string} chosen
 * @param {(value: any) => void} pick
 */
export function segments(label, options, chosen, pick) {
  const name = freshId("segments");
  const inputs = new Map();
  const node = element("div", { className: "segments", role: "radiogroup", aria: { label } });
  for (const [value, text] of options) {
    const input = element("input", {
      type: "radio", name, value, checked: value === chosen, on: { change: () => pick(value) },
    });
    inputs.set(value, input);
    node.append(element("label", {}, input, element("span", { textContent: text })));
  }
  return { node, choose: (value) => { inputs.get(value).checked = true; } };
}
