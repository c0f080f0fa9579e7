import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { isObject, parseJson } from "../../src/lib/json.ts";

/** The parts of an OpenAPI document that answers are checked against. */
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

/** What a path's operations are checked with. */
interface Route {
  form: RegExp;
  /** Paths with parameters give way to those without. */
  parameters: number;
  operations: Record<string, Operation>;
}

function toRoute([path, operations]: [string, Record<string, Operation>]): Route {
  const names = path.match(/\{\w+\}/g) ?? [];
  const form = path.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{\w+\}/g, "[^/]+");
  return { form: new RegExp(`^${form}/?$`), parameters: names.length, operations };
}

/** A schema whose objects have no other members than it names, so that an answer with a member that it lacks is found. */
function closed(schema: Schema): Schema {
  const close = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(close);
    if (!isObject(value)) return value;
    const inner = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, close(one)]));
    const isOpen = !isObject(value.properties) || Object.hasOwn(value, "additionalProperties");
    return isOpen ? inner : { ...inner, additionalProperties: false };
  };
  return close(schema) as Schema; // of the same form
}

/** Requires that a response matches the gateway's OpenAPI document. */
export type AnswerCheck = (request: Request, response: Response) => Promise<void>;

/** The response of the document for a status. */
function responseOf({ responses }: Operation, status: number) {
  return responses[status] ?? responses[status < 300 ? "200" : "default"];
}

/** Content types of JSON responses that the document describes. */
const jsonForm = /^application\/(?:scim\+)?json(?=;|$)/;

function describe(errors: readonly OutputUnit[]): string {
  return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`).join("\n");
}

/**
 * Creates a check of JSON responses against the document, which is read once.
 *
 * @param readDocument Reads `/openapi.json`.
 */
export function createAnswerCheck(readDocument: () => Promise<Document>): AnswerCheck {
  let routes: Route[] | undefined;
  let schemas: Record<string, Schema> = {};
  const validators = new Map<Schema, Validator>();

  const contentOf = async ({ method, url }: Request, status: number) => {
    if (!routes) {
      const document = await readDocument();
      schemas = document.components.schemas;
      routes = Object.entries(document.paths)
        .filter(([path]) => path !== "/v1/{path}")
        .map(toRoute)
        .toSorted((one, other) => one.parameters - other.parameters);
    }
    const { pathname } = new URL(url);
    const route = routes.find(({ form, operations }) => form.test(pathname) && operations[method.toLowerCase()]);
    const operation = route?.operations[method.toLowerCase()];
    return operation && responseOf(operation, status)?.content;
  };
  const validatorOf = (schema: Schema): Validator => {
    const known = validators.get(schema);
    if (known) return known;
    const made = new Validator({ ...closed(schema), components: { schemas } } as Schema, "2020-12"); // where references lead
    validators.set(schema, made);
    return made;
  };
  return async (request, response) => {
    const [type] = jsonForm.exec(response.headers.get("content-type") ?? "") ?? [];
    if (type === undefined) return;
    // its responses are its upstream's, whatever the route
    if (response.headers.get("x-gateway-provider") === "passthrough") return;
    const content = await contentOf(request, response.status);
    const call = `${request.method} ${request.url} (${response.status})`;
    const isScim = content?.["application/scim+json"] !== undefined;
    // a path that cannot be read is refused in the common form, before its route is found
    if (response.ok && content && isScim !== (type === "application/scim+json"))
      throw new Error(`${call} is of the type ${type}`);
    const schema = content?.[type]?.schema;
    // a list that is still being written is not waited for
    if (!schema || request.url.includes(":streamGenerateContent")) return;
    const answer = parseJson(await response.clone().text());
    // some upstreams label plain text as JSON, and it is returned unchanged
    if (answer === undefined) return;
    const { valid, errors } = validatorOf(schema).validate(answer);
    if (valid) return;
    throw new Error(`${call} is not as documented:\n${describe(errors)}`);
  };
}
