// The play as code, in the language that was picked.

import { codeFor, LANGUAGES } from "./code.js";
import { byId, segments } from "../elements.js";
import { missingFrom } from "./request.js";

/** `text` is what is shown; `show` takes a play. */
export function codePanel() {
  const place = byId("code");
  let language = LANGUAGES[0][0];
  let shown = null;

  function draw() {
    const server = new URL(".", location.href).href.replace(/\/$/, "");
    if (shown === null) return;
    place.textContent = missingFrom(shown.play) ?? codeFor(language, shown.play, server, shown.keyed);
  }

  byId("code-kind").append(segments("Language", LANGUAGES, language, (picked) => {
    language = picked;
    draw();
  }).node);

  return {
    get text() {
      return place.textContent;
    },
    show(play, keyed) {
      shown = { play, keyed };
      draw();
    },
  };
}
