import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import { type Api, type ApiCall, readAnswer } from "../declared/api.ts";
import { applyDeclared } from "../declared/apply.ts";
import { type Declared, readDeclared } from "../declared/document.ts";
import { fillVariables } from "../declared/environment-values.ts";
import { resourcesOf } from "../declared/resources.ts";
import { readYaml } from "../declared/yaml.ts";
import type { GatewayOptions } from "../gateway/options.ts";
import { toContentRules } from "../gateway/provider-rules.ts";
import type { Gateway } from "../gateway.ts";
import { builtInProviders } from "../providers/registry.ts";

/** A file of declared state, with the values of the environment. */
export interface DeclaredFile {
  readonly path: string;
  readonly declared: Declared;
  /** Names of variables by their values. */
  readonly variables: ReadonlyMap<string, string>;
}

/** Settings of providers that no output shows. */
export const secretSettings: ReadonlySet<string> = toContentRules(
  new Map(builtInProviders.map((provider) => [provider.slug, provider])),
).secretSettings;

/** The bytes of a file; `-` is the standard input. @throws {Error} Naming it. */
export function readBytesOf(path: string): Uint8Array {
  try {
    if (path === "-") return readFileSync(0);
    if (!statSync(path).isFile()) throw new Error("it is not a file");
    return readFileSync(path);
  } catch (cause) {
    throw new Error(`Cannot read ${path}`, { cause });
  }
}

/** @throws {Error} If the file cannot be read or used. */
export async function readDeclaredFile(path: string): Promise<DeclaredFile> {
  const what = path === "-" ? "the standard input" : path;
  const { value, variables } = fillVariables(await readYaml(readBytesOf(path), what), process.env);
  return { path, declared: readDeclared(value, what), variables };
}

function toRequest(
  { method, path, body, isNew = false }: ApiCall,
  base: string,
  headers: Record<string, string>,
): Request {
  return new Request(`${base}/v1${path}`, {
    method,
    headers: {
      ...headers,
      ...(body && { "content-type": "application/json" }),
      ...(isNew && { "if-none-match": "*" }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** Calls a gateway at an address. */
export function createRemoteApi(base: string, key: string): Api {
  return async (call) => {
    const request = toRequest(call, base, { "x-gateway-api-key": key });
    let response: Response;
    try {
      response = await fetch(request);
    } catch (cause) {
      throw new Error(`Cannot reach the gateway at ${base}`, { cause });
    }
    return readAnswer(response);
  };
}

/** Calls a gateway of this process. */
export async function createOwnApi(gateway: Pick<Gateway, "asOrganisation">, organisation?: string): Promise<Api> {
  const handle = await gateway.asOrganisation(organisation);
  return async (call) => readAnswer(await handle(toRequest(call, "http://gateway.internal", {})));
}

/** The option of a gateway whose configuration comes from a file. */
export async function declaredOption(
  path: string | undefined,
): Promise<Pick<GatewayOptions, "declaredIn"> & { file?: DeclaredFile }> {
  if (path === undefined) return {};
  const file = await readDeclaredFile(path);
  return { file, declaredIn: { file: basename(path), resources: resourcesOf(file.declared) } };
}

/**
 * Makes a gateway that starts have what its file declares. Records of declared sections that the file does not have go;
 * workspaces stay.
 *
 * @throws {Error} If the file cannot be applied.
 */
export async function applyAtStart(
  gateway: Gateway,
  { path, declared, variables }: DeclaredFile,
  log: (line: string) => void,
): Promise<void> {
  try {
    const written = await applyDeclared(declared, {
      api: await createOwnApi(gateway, declared.organisation.slug),
      prune: "records",
      takesSecrets: false,
      variables,
      secrets: secretSettings,
      show: () => {},
      takeSecret: () => {},
    });
    if (written > 0) log(`Applied ${path}: ${written} records written`);
  } catch (cause) {
    throw new Error(`Cannot start from ${path} (GATEWAY_FILE)`, { cause });
  }
}
