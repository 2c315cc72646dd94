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
 * over several when a margin for them is given.
 */
export function write(value, margin = null) {
  const inner = margin === null ? null : `${margin}  `;
  if (value?.raw !== undefined) return value.raw;
  if (Array.isArray(value)) return wrap("[", value.map((each) => write(each, inner)), "]", margin);
  if (value?.pairs === undefined) return JSON.stringify(value);
  const parts = value.pairs.map(([key, each]) => `${JSON.stringify(key)}: ${write(each, inner)}`);
  return wrap("{", parts, "}", margin);
}

function wrap(open, parts, close, margin) {
  if (margin === null || parts.length === 0) return open + parts.join(", ") + close;
  const newline = `\n${margin}  `;
  return `${open}${newline}${parts.join(`,${newline}`)}\n${margin}${close}`;
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
    return `Not valid JSON: ${error.message}`;
  }
  const fits = typeof value === "string" || (typeof value === "object" && value !== null);
  return fits ? null : "A state is an object, an array or a text.";
}

/** Whether a text would make a JSON object or array. */
export function looksLikeJson(text) {
  return /^\s*[{[]/.test(text) && problemOfState(text) === null;
}
