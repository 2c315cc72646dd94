// What an answer says, whichever kind it is, and which way its branch goes. Plain data.

/** Probabilities in the order of the card's rows, the best row, and a score's mean level. */
export function readAnswer(question, sent) {
  if (question.kind === "boolean") {
    return reading([sent.noul, 1 - sent.noul]);
  }
  const keys = question.kind === "choice"
    ? question.options.map((option) => option.name)
    : question.levels.map((_, index) => String(index));
  return reading(keys.map((key) => sent.probabilities[key]), sent.score);
}

function reading(probabilities, expected = null) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  return { probabilities, best, expected };
}

/** The if-statement under a card: its condition, both ways out, and which of them is taken. */
export function branchOf(question, answer) {
  const name = question.name || "it";
  const at = thresholdText(question);
  if (question.kind === "boolean") {
    return fork(`${name} > ${at}`, "yes", "no", answer?.probabilities[0] > question.threshold);
  }
  if (question.kind === "score") {
    return fork(`${name}.expected > ${at}`, "above", "below", answer?.expected > question.threshold);
  }
  const best = answer ? question.options[answer.best].name : "the best one";
  const taken = answer?.probabilities[answer.best] > question.threshold;
  return fork(`max(${name}) > ${at}`, best, "ask a person", taken);
}

function fork(condition, then, otherwise, taken) {
  return { condition, then, otherwise, taken };
}

/** The highest threshold that makes sense: a probability's, or the last level's. */
export function mostThreshold(question) {
  return question.kind === "score" ? Math.max(question.levels.length - 1, 1) : 1;
}

/** The threshold as people and programs write it. */
export function thresholdText(question) {
  return question.threshold.toFixed(2);
}

/** A probability for people: "83 %", never a false 0 or 100. */
export function percent(probability) {
  const rounded = Math.round(probability * 100);
  if (rounded === 0 && probability > 0) return "< 1 %";
  if (rounded === 100 && probability < 1) return "> 99 %";
  return `${rounded} %`;
}
