import { isObject, parseJson } from "../lib/json.ts";

/** A refusal of the control plane. */
export class ApiRefusal extends Error {
  override readonly name = "ApiRefusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** One call of the control plane. */
export interface ApiCall {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/v1`, with its query. */
  readonly path: string;
  readonly body?: object;
  /** Refuses a name that another record has. */
  readonly isNew?: boolean;
}

/**
 * Calls the control plane of a gateway with the rights of an organisation.
 *
 * @throws {ApiRefusal} If it refuses.
 */
export type Api = (call: ApiCall) => Promise<Readonly<Record<string, unknown>>>;

/** The answer of a response. @throws {ApiRefusal} */
export async function readAnswer(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const text = await response.text();
  const body = text === "" ? {} : parseJson(text);
  if (response.ok && isObject(body)) return body;
  if (response.ok && Array.isArray(body)) return { data: body };
  const message = isObject(body) && typeof body.message === "string" ? body.message : `status ${response.status}`;
  throw new ApiRefusal(response.status, message);
}

const pageSize = 100;

/** All records of a list. @param query Such as `workspace_id=research`. */
export async function listAll(
  api: Api,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for (let page = 0; ; page++) {
    const search = new URLSearchParams({ ...query, current_page: String(page), page_size: String(pageSize) });
    const { data, total } = await api({ method: "GET", path: `${path}?${search}` });
    const rows = Array.isArray(data) ? data.filter(isObject) : [];
    found.push(...rows);
    if (rows.length === 0 || found.length >= Number(total)) return found;
  }
}
