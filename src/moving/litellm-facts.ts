import { prices } from "./litellm-names.ts";
import type { Source } from "./source.ts";

type Fields = Record<string, unknown>;

const without = (value: Fields): Fields =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));

/** Prices of a model: LiteLLM has dollars a token, integrations US cents. */
function readPrices(params: Source, info: Source): Fields | undefined {
  const found = Object.entries(prices).flatMap(([name, kind]) => {
    const dollars = params.number(name) ?? info.number(name);
    return dollars === undefined ? [] : [[kind, { price: dollars * 100 }] as const];
  });
  return found.length > 0 ? { type: "static", pay_as_you_go: Object.fromEntries(found) } : undefined;
}

/** What the configuration says of what a model takes. */
function readFacts(info: Source): Fields {
  const sees = info.flag("supports_vision");
  const inputs = [
    "text",
    ...(sees === true ? ["image"] : []),
    ...(info.flag("supports_pdf_input") === true ? ["file"] : []),
    ...(info.flag("supports_audio_input") === true ? ["audio"] : []),
  ];
  const input = info.count("max_input_tokens");
  // alone, max_tokens may stand for the window as well
  const alike = input === undefined ? undefined : info.count("max_tokens");
  return without({
    images: sees === false ? "none" : undefined,
    inputs: inputs.length > 1 ? inputs : undefined,
    takesTools: info.flag("supports_function_calling"),
    reasons: info.flag("supports_reasoning"),
    responseSchemas: info.flag("supports_response_schema") === false ? "none" : undefined,
    maxInputTokens: input,
    maxOutputTokens: info.count("max_output_tokens") ?? alike,
  });
}

/** What an integration says of a model: prices, facts, and the model whose prices it has. */
export function readModelFields(params: Source, info: Source, base: string | undefined): Fields {
  const facts = readFacts(info);
  return without({
    pricing_config: readPrices(params, info),
    model_facts: Object.keys(facts).length > 0 ? facts : undefined,
    base_model_slug: base,
  });
}
