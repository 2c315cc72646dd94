// What the server has loaded, as choices: checkpoint and λ.

import { about } from "../playground/server.js";

/**
 * @typedef {{served: import("../playground/server.js").Served, lam: number}} Setting
 */

/**
 * What is loaded now.
 * @param {import("../playground/tabs.js").Context} context
 */
export async function loaded(context, signal) {
  return (await about(context.key(), signal)).checkpoints;
}

/** How a checkpoint is called: as its card says, after the name it is asked by where that is another. */
export function nameOf({ model, checkpoint, version }) {
  const own = `${checkpoint} ${version}`;
  return model === "default" || model === checkpoint ? own : `${model}: ${own}`;
}

/** The λ that are shown of a checkpoint, in ascending order. */
export function lambdasOf({ lambdas }) {
  return lambdas === null ? [0, 0.25, 0.5, 0.75, 1] : [...lambdas].sort((one, other) => one - other);
}

/**
 * What a request says to be answered by a setting.
 * @param {Setting} setting
 * @returns {[string, unknown][]}
 */
export function fieldsOf({ served, lam }) {
  return [["model", served.model], ["lambda", lam]];
}

/** Every setting there is, its own λ first of each checkpoint. */
export function settingsOf(checkpoints) {
  return checkpoints.flatMap((served) => {
    const others = lambdasOf(served).filter((lam) => lam !== served.lambda);
    return [served.lambda, ...others.reverse()].map((lam) => ({ served, lam }));
  });
}

/** @param {Setting} setting */
export function settingName({ served, lam }) {
  return `${nameOf(served)}, λ ${lam}`;
}
