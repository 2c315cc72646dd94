// A play as the fragment of a link and back: compressed and in letters that need no escape. The
// fragment stays in the browser; no server ever sees it.

import { playFrom } from "./play.js";

const KEY = "play=";
const MOST_BYTES = 4_000_000;

/** The fragment, with its "#". */
export async function fragmentOf(play) {
  const text = new Blob([JSON.stringify(play)]);
  const packed = text.stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `#${KEY}${toLetters(await bytesOf(packed))}`;
}

/** The play in a fragment, or null when it holds none. Throws when it is damaged. */
export async function playIn(fragment) {
  if (!fragment.startsWith(`#${KEY}`)) return null;
  const packed = new Blob([fromLetters(fragment.slice(KEY.length + 1))]);
  const text = packed.stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return playFrom(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await bytesOf(text))));
}

async function bytesOf(stream) {
  const parts = [];
  let size = 0;
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > MOST_BYTES) throw new RangeError(`more than ${MOST_BYTES} bytes`);
    parts.push(next.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function toLetters(bytes) {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromLetters(letters) {
  const binary = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
