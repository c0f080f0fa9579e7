import { isObject } from "../../src/lib/json.ts";
import {
  type Client,
  type HeardCall,
  type Members,
  objectsOf,
  pixel,
  readStream,
  readWhole,
  type Setup,
  textIn,
} from "./client.ts";

const image: Members = { inlineData: { mimeType: "image/png", data: pixel } };

const partsOf = (value: Members): Members[] => {
  const [candidate] = objectsOf(value.candidates);
  return isObject(candidate?.content) ? objectsOf(candidate.content.parts) : [];
};

/** A client of the Gemini API, as Gemini CLI is one. */
export function createGeminiClient(setup: Setup): Client {
  const contents: Members[] = [];
  let calls: HeardCall[] = [];
  return {
    // reasoning comes only where it is asked for
    showsReasoning: setup.effort !== undefined,
    path: (model) => {
      const verb = setup.streams ? "streamGenerateContent?alt=sse" : "generateContent";
      return `/v1beta/models/${model}:${verb}`;
    },
    headers: {},
    ask({ outcomes, text, hasImage, instruction }) {
      const results = calls.map(({ id, name }, index) => {
        const { text: said = "", isError = false } = outcomes[index] ?? {};
        const response = isError ? { error: said } : { output: said };
        return { functionResponse: { ...(id !== "" && { id }), name, response } };
      });
      const showsResult = outcomes.some((outcome) => outcome.hasImage);
      const said = [text, instruction].filter((one) => one !== "").map((one) => ({ text: one }));
      contents.push({ role: "user", parts: [...results, ...(hasImage || showsResult ? [image] : []), ...said] });
      const level = setup.effort === "xhigh" || setup.effort === "max" ? "high" : setup.effort;
      return {
        ...(setup.instructions !== "" && { systemInstruction: { parts: [{ text: setup.instructions }] } }),
        ...(setup.tools.length > 0 && {
          tools: [
            {
              functionDeclarations: setup.tools.map(({ name, description, schema }) => ({
                name,
                description,
                parametersJsonSchema: schema,
              })),
            },
          ],
        }),
        generationConfig: {
          maxOutputTokens: setup.maxTokens,
          ...(setup.temperature !== undefined && { temperature: setup.temperature }),
          ...(setup.effort === "off" && { thinkingConfig: { thinkingBudget: 0 } }),
          ...(level !== undefined &&
            level !== "off" && { thinkingConfig: { thinkingLevel: level, includeThoughts: true } }),
        },
        contents: [...contents],
      };
    },
    async hear(response) {
      const parts = setup.streams ? (await readStream(response)).flatMap(partsOf) : partsOf(await readWhole(response));
      contents.push({ role: "model", parts });
      calls = parts.flatMap(({ functionCall: call }): HeardCall[] =>
        isObject(call)
          ? [{ id: textIn(call.id), name: String(call.name), arguments: JSON.stringify(call.args ?? {}) }]
          : [],
      );
      const all = (isThought: boolean) =>
        parts.flatMap(({ text, thought }) => ((thought === true) === isThought ? [textIn(text)] : [])).join("");
      return { text: all(false), reasoning: all(true), calls };
    },
  };
}
