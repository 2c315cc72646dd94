// Loading a schema file in place of the questions, with a way back.

import { byId, say } from "../elements.js";
import { undoLine } from "../undo.js";

/**
 * @param {(questions: import("./play.js").Question[]) => import("./play.js").Question[]} replace puts
 *   these in place of the questions, and gives those that they replace
 */
export function schemaPanel(replace) {
  const [panel, file, text, problem] = ["schema", "schema-file", "schema-text", "schema-problem"].map(byId);
  const undo = undoLine();
  panel.append(undo.node);

  async function load(given) {
    const { questionsIn } = await import("./schema.js");
    undo.forget();
    say(problem, null);
    try {
      const before = replace(questionsIn(given));
      text.value = file.value = "";
      undo.offer("The questions are loaded in place of those before.", () => replace(before));
    } catch (error) {
      say(problem, error.message);
    }
  }

  file.addEventListener("change", async () => {
    if (file.files.length > 0) await load(await file.files[0].text());
  });
  byId("schema-use").addEventListener("click", () => load(text.value));
}
