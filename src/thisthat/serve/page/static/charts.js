// Line charts in SVG over places from 0 to 1. Knows nothing of what they show.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, TOP] = [300, 180, 40, 10];

function drawn(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

const across = (x) => LEFT + WIDTH * x;
const up = (y) => TOP + HEIGHT * (1 - y);

/** A figure: `lines` are `{points, kind, sizes}`, ticks `[place, text]`. */
export function chart({ label, caption, lines, xTicks, yTicks }) {
  const svg = drawn("svg", {
    viewBox: `0 0 ${WIDTH + LEFT + 14} ${HEIGHT + TOP + 24}`, role: "img", "aria-label": label,
  });
  svg.append(drawn("rect", { class: "frame", x: LEFT, y: TOP, width: WIDTH, height: HEIGHT }));
  for (const [at, text] of xTicks) {
    svg.append(drawn("text", { x: across(at), y: TOP + HEIGHT + 15, "text-anchor": at > 0.9 ? "end" : at < 0.1 ? "start" : "middle" }, text));
  }
  for (const [at, text] of yTicks) {
    svg.append(drawn("text", { x: LEFT - 5, y: up(at) + 4, "text-anchor": "end" }, text));
  }
  for (const { points, kind = "", sizes = [] } of lines) {
    const places = points.map(([x, y]) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`).join(" ");
    svg.append(drawn("polyline", { class: kind, points: places }));
    points.forEach(([x, y], n) => {
      if (sizes[n]) svg.append(drawn("circle", { cx: across(x), cy: up(y), r: sizes[n] }));
    });
  }
  const figure = document.createElement("figure");
  figure.className = "chart";
  const words = document.createElement("figcaption");
  words.textContent = caption;
  figure.append(svg, words);
  return figure;
}

/** Two e-values against the bound that decides, on a logarithmic scale around 1. */
export function evidence(points, bound) {
  const most = points.at(-1)[0];
  const top = 1.5 * Math.log10(bound);
  const height = (value) => Math.min(1, Math.max(0, 0.5 + Math.log10(Math.max(value, 1e-12)) / (2 * top)));
  const level = height(bound);
  return chart({
    label: "Evidence over outcomes",
    caption: `Evidence of harm (dashed) and for not worse; ${bound} decides.`,
    lines: [
      { points: points.map(([at, harm]) => [at / most, height(harm)]), kind: "other" },
      { points: points.map(([at, , fine]) => [at / most, height(fine)]) },
      { points: [[0, level], [1, level]], kind: "limit" },
    ],
    xTicks: [[0, "0"], [1, `${most} outcomes`]],
    yTicks: [[0.5, "1"], [level, String(bound)]],
  });
}
