import type { RequestContext } from "../../context.ts";
import { definePublicEndpoint, type Endpoint } from "../../endpoint.ts";
import { NotFoundError, toErrorBody } from "../../errors.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { shiftDecimal } from "../../pricing/decimals.ts";
import { findPrice, type ModelPrice } from "../../pricing/prices.ts";
import { ModelPricing, PricedModel } from "../../schemas/integrations.ts";
import type { AnswerOf } from "../core/endpoint.ts";

/** Decimal places from US dollars per million tokens to US cents per token, and from dollars to cents. */
const perToken = -4;
const perUnit = 2;

/** Prices in the shape of the API. */
function toPrices(values: ReadonlyMap<string, number>, places: number) {
  return Object.fromEntries(Array.from(values, ([name, value]) => [name, { price: shiftDecimal(value, places) }]));
}

/** What a model costs, in US cents. */
function toPricing({ tokens, batch, units, images }: ModelPrice): AnswerOf<typeof ModelPricing> {
  return {
    currency: "USD",
    pay_as_you_go: {
      ...toPrices(tokens, perToken),
      ...(units.size > 0 && { additional_units: toPrices(units, perUnit) }),
      ...(images.size > 0 && {
        image: Object.fromEntries(Array.from(images, ([quality, sizes]) => [quality, toPrices(sizes, perUnit)])),
      }),
    },
    ...(batch.size > 0 && { batch: toPrices(batch, perToken) }),
  };
}

/** Facts about a model besides its price. */
function toFacts(
  { tokens, batch, units, images }: ModelPrice,
  provider: string,
  model: string,
): AnswerOf<typeof PricedModel> {
  return {
    object: "model",
    id: model,
    name: model,
    provider,
    priced: [...tokens.keys(), ...units.keys(), ...(images.size > 0 ? ["image"] : [])],
    batch: batch.size > 0,
  };
}

/** Provider and model in the rest of a path; a model may contain slashes, encoded or not. */
function readModel({ url }: RequestContext, prefix: string): { provider: string; model: string } {
  const [provider = "", ...model] = url.pathname.slice(prefix.length).split("/");
  return { provider: decodeURIComponent(provider), model: decodeURIComponent(model.join("/")) };
}

/** Clients expect a string in `error`. */
function answerUnknown(): Reply {
  const error = new NotFoundError("Model not found", { code: "AB08" });
  return jsonReply({ ...toErrorBody(error, "admin"), error: error.message }, error.status);
}

/** What a group of paths shows of a model. */
interface Kind {
  name: string;
  summary: string;
  response: typeof ModelPricing | typeof PricedModel;
  describe(price: ModelPrice, provider: string, model: string): AnswerOf<typeof ModelPricing | typeof PricedModel>;
}

const kinds: readonly Kind[] = [
  {
    name: "pricing",
    summary: "Show the price of a model, in US cents",
    response: ModelPricing,
    describe: toPricing,
  },
  { name: "general", summary: "Show facts about a model", response: PricedModel, describe: toFacts },
];

/** Endpoints of the price list. */
export const pricingEndpoints: readonly Endpoint[] = kinds.flatMap(({ name, summary, response, describe }) =>
  ["/v1/model-configs", "/model-configs"].map((group) => {
    const prefix = `${group}/${name}/`;
    return definePublicEndpoint({
      method: "GET",
      path: `${prefix}:provider/*`,
      tag: "Models",
      summary,
      access: "public",
      response,
      handle(context: RequestContext) {
        const { provider, model } = readModel(context, prefix);
        const price = findPrice(provider, model);
        return price ? jsonReply(describe(price, provider, model)) : answerUnknown();
      },
    });
  }),
);
