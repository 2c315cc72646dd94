// JSON as text, written here because a JavaScript object cannot hold every JSON object: it moves
// keys that look like numbers to the front and rounds long numbers.

const TOKEN = /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g;
const PYTHON_WORDS = { true: "True", false: "False", null: "None" };

/** Text that is JSON already. */
export function raw(text) {
  return { raw: text };
}

/** A JSON object with its keys in this order. */
export function ordered(pairs) {
  return { pairs };
}

/**
 * A value made of texts, numbers, null, lists, `raw` and `ordered`, as JSON text: on one line, or
 * over several, each `step` deeper, when a margin for them is given.
 */
export function write(value, margin = null, step = "  ") {
  const inner = margin === null ? null : margin + step;
  const within = (each) => write(each, inner, step);
  if (value?.raw !== undefined) return value.raw;
  if (Array.isArray(value)) return wrap("[", value.map(within), "]", margin, inner);
  if (value?.pairs === undefined) return JSON.stringify(value);
  const parts = value.pairs.map(([key, each]) => `${JSON.stringify(key)}: ${within(each)}`);
  return wrap("{", parts, "}", margin, inner);
}

function wrap(open, parts, close, margin, inner) {
  if (margin === null || parts.length === 0) return open + parts.join(", ") + close;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${margin}${close}`;
}

/** Valid JSON text as a Python expression; numbers stay as they are written. */
export function toPython(text) {
  return text.replace(TOKEN, (token) => PYTHON_WORDS[token] ?? JSON.stringify(JSON.parse(token)));
}

/** What is wrong with JSON that should hold a state, or null. */
export function problemOfState(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `Not valid JSON: ${error.message}. For plain text choose Text.`;
  }
  const fits = typeof value === "string" || (typeof value === "object" && value !== null);
  return fits ? null : "A state is an object, an array or a text.";
}

/** Whether a text would make a JSON object or array. */
export function looksLikeJson(text) {
  return /^\s*[{[]/.test(text) && problemOfState(text) === null;
}
