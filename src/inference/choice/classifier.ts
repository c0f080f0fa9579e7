import { headersOfTrace } from "../../context/own-request.ts";
import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readBytes } from "../../lib/body.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { AutoClassifier } from "../../routing/auto-classifier.ts";
import type { ConfigNode } from "../../routing/config.ts";
import { embed } from "../cache/embedding.ts";

/** What a classifier found: a target with how sure it is, or why it found nothing. */
type Classified = { target: string; confidence: number } | { problem: string };

/** What is remembered of one classifier in one workspace, until something there is saved. */
interface Known {
  /** By text. */
  answers: BoundedMap<string, Classified>;
  /** The vectors of the examples, made on first use. */
  vectors?: Promise<readonly (readonly [target: string, vector: Float32Array])[] | { problem: string }> | undefined;
}

/** Most questions whose answer is remembered, and most characters that a classifier reads: of each end half. */
const maxAnswers = 500;
const maxText = 4_000;
const maxAnswerBytes = 256 * 1024;
/** The request waits for it. */
const timeoutMs = 10_000;

const known = new WeakMap<WorkspaceView, WeakMap<ConfigNode, Known>>();

function knownOf(node: ConfigNode, view: WorkspaceView): Known {
  const ofView = known.get(view) ?? new WeakMap<ConfigNode, Known>();
  known.set(view, ofView);
  const ofNode = ofView.get(node) ?? { answers: new BoundedMap<string, Classified>(maxAnswers) };
  ofView.set(node, ofNode);
  return ofNode;
}

const cutText = (text: string): string =>
  text.length <= maxText ? text : `${text.slice(0, maxText / 2)}\n${text.slice(-maxText / 2)}`;

/** What a target is for, where the config does not say it. */
function purposeOf(place: number, count: number): string {
  if (place === 0) return "Facts, translations, short summaries, extraction, small talk: any model answers it well";
  if (place === count - 1)
    return "Several steps of thought: proofs, design, analysis, code of some size, long documents";
  return `Between the others, ${place + 1} of ${count} by difficulty`;
}

/** Asks a model to decide, as a request of the caller: its limits, its budget and its log apply. */
async function askModel(
  text: string,
  { targets }: ConfigNode,
  classifier: AutoClassifier,
  context: CallerContext,
): Promise<Classified> {
  const { provider, model, criteria } = classifier;
  const options = targets.map(({ name = "" }, place) => [name, criteria[name] ?? purposeOf(place, targets.length)]);
  const question = {
    type: "choice",
    instructions: "How capable a model does this request need? Do not answer the request itself.",
    criteria: Object.fromEntries(options),
  };
  const request = new Request("http://gateway.internal/v1/decisions", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-provider": `@${provider}`,
      ...headersOfTrace(context),
      "x-gateway-metadata": JSON.stringify(context.metadata),
      "x-gateway-request-timeout": String(timeoutMs),
    },
    body: JSON.stringify({ model, state: { request: text }, questions: { tier: question } }),
    signal: context.request.signal,
  });
  try {
    const response = await context.services.handle(request, { actingFor: context.principal, ignoresConfig: true });
    const bounds = { bytes: maxAnswerBytes, totalMs: timeoutMs, silenceMs: timeoutMs };
    const answer = parseJson(new TextDecoder().decode(await readBytes(response, bounds)));
    if (response.status !== 200) return { problem: `the classifier failed with ${response.status}` };
    const tier = isObject(answer) && isObject(answer.answers) ? answer.answers.tier : undefined;
    if (!isObject(tier)) return { problem: "the classifier gave no answer" };
    return { target: String(tier.choice), confidence: Number(tier.confidence) || 0 };
  } catch {
    return { problem: "the classifier could not be read" };
  }
}

function cosine(one: Float32Array, other: Float32Array): number {
  let [dot, ofOne, ofOther] = [0, 0, 0];
  for (let at = 0; at < one.length; at++) {
    const [left, right] = [one[at] ?? 0, other[at] ?? 0];
    dot += left * right;
    ofOne += left * left;
    ofOther += right * right;
  }
  return dot === 0 ? 0 : dot / Math.sqrt(ofOne * ofOther);
}

/** Finds the nearest of the labelled examples. Their vectors are made once. */
async function findNearest(
  text: string,
  remembered: Known,
  { provider, model, examples }: AutoClassifier,
  context: CallerContext,
): Promise<Classified> {
  const embedder = { provider, model, dimensions: undefined, threshold: 0 };
  const embedAll = async () => {
    const made: (readonly [string, Float32Array])[] = [];
    for (const [target, prompt] of examples) {
      const vector = await embed(prompt, embedder, context);
      if ("problem" in vector) return vector;
      made.push([target, vector]);
    }
    return made;
  };
  remembered.vectors ??= embedAll();
  const vectors = await remembered.vectors;
  if ("problem" in vectors) {
    // the next request asks again
    remembered.vectors = undefined;
    return vectors;
  }
  const vector = await embed(text, embedder, context);
  if ("problem" in vector) return vector;
  let best = { target: "", confidence: -1 };
  for (const [target, example] of vectors) {
    const confidence = cosine(vector, example);
    if (confidence > best.confidence) best = { target, confidence };
  }
  return best;
}

/**
 * Classifies a text, or remembers how it was classified. A failure is not remembered.
 *
 * @param mayCall False: only what is remembered counts.
 */
export async function classify(
  text: string,
  { node, view, mayCall }: { node: ConfigNode; view: WorkspaceView; mayCall: boolean },
  classifier: AutoClassifier,
  context: CallerContext,
): Promise<Classified> {
  const remembered = knownOf(node, view);
  const cut = cutText(text);
  const found = remembered.answers.get(cut);
  if (found) return found;
  if (!mayCall) return { problem: "the classifier is not asked here" };
  if (cut.trim() === "") return { problem: "there is no text to classify" };
  const { kind } = classifier;
  const made =
    kind === "examples"
      ? await findNearest(cut, remembered, classifier, context)
      : await askModel(cut, node, classifier, context);
  if (!("problem" in made)) remembered.answers.set(cut, made);
  return made;
}
