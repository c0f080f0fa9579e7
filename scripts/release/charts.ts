// The Helm chart: rendered by Helm in all its forms, and checked against the schemas of Kubernetes.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder } from "../../tests/support/process.ts";
import { findProgram, requirePrograms, root, run } from "./run.ts";

/** Go programs, by the versions that are known to work, and the names under which Go installs them. */
const goPrograms = {
  helm: { module: "helm.sh/helm/v3/cmd/helm@v3.22.0", file: "helm" },
  kubeconform: { module: "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0", file: "kubeconform" },
  compose: { module: "github.com/compose-spec/compose-go/v2/cmd@v2.16.2", file: "cmd" },
};
/** The module that holds the schemas of Kubernetes, and their version. */
const schemaModule = "k8s.io/cli-runtime@v0.37.0";
const kubernetesVersion = "1.37.0";

/** A program of the system, or one built from the Go module proxy. */
export async function goProgram(name: keyof typeof goPrograms): Promise<string> {
  const found = findProgram(name);
  if (found) return found;
  const folder = join(root, "dist/targets/go");
  const { module, file } = goPrograms[name];
  const program = join(folder, file);
  if (existsSync(program)) return program;
  requirePrograms("go");
  mkdirSync(folder, { recursive: true });
  await run("go", ["install", module], {
    cwd: folder,
    env: { GOBIN: folder, CGO_ENABLED: "0", GOFLAGS: "" },
  });
  return program;
}

type Schema = { [member: string]: unknown };

const kindsOf = (definition: Schema) =>
  (definition["x-kubernetes-group-version-kind"] ?? []) as { group: string; version: string; kind: string }[];

/** A definition as JSON Schema that refuses unknown members, as the server of Kubernetes does. */
function strict(definition: Schema): Schema {
  // these two are written as numbers or text
  if (definition.format === "int-or-string") return { anyOf: [{ type: "string" }, { type: "integer" }] };
  if (String(definition.description).startsWith("Quantity is"))
    return { anyOf: [{ type: "string" }, { type: "number" }] };
  const isClosed = definition.properties !== undefined && definition.additionalProperties === undefined;
  return isClosed ? { ...definition, additionalProperties: false } : definition;
}

/** Writes one schema for each kind from the OpenAPI document of Kubernetes, in the names that kubeconform looks for. */
async function writeSchemas(): Promise<string> {
  requirePrograms("go");
  const { Dir } = JSON.parse(
    await run("go", ["mod", "download", "-json", schemaModule], { cwd: createFolder(), env: { GOFLAGS: "" } }),
  );
  const { definitions } = JSON.parse(readFileSync(join(Dir, "artifacts/openapi/swagger.json"), "utf8")) as {
    definitions: Record<string, Schema>;
  };
  const closed = Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => [name, strict(definition)]),
  );
  const wanted =
    /^(?:Service|ServiceAccount|Secret|Deployment|StatefulSet|Ingress|NetworkPolicy|PodDisruptionBudget|HorizontalPodAutoscaler)$/;
  const folder = createFolder();
  for (const [name, definition] of Object.entries(definitions)) {
    for (const { group, version, kind } of kindsOf(definition)) {
      if (!wanted.test(kind)) continue;
      const suffix = [group.split(".")[0], version].filter(Boolean).join("-");
      const schema = { $ref: `#/definitions/${name}`, definitions: closed };
      writeFileSync(join(folder, `${kind.toLowerCase()}-${suffix}.json`), JSON.stringify(schema));
    }
  }
  return folder;
}

const server = ["--set", "database.url=http://sqld:8080", "--set", "redis.url=redis://redis:6379"];
const external = ["--set", "secrets.external.enabled=true", "--set", "secrets.external.store.name=vault"];

/** Forms of the chart: the options, and the kinds that they add to a service with its account, budget and network policy. */
const forms: Readonly<Record<string, { options: readonly string[]; kinds: readonly string[] }>> = {
  "one replica with a file": { options: [], kinds: ["StatefulSet"] },
  "several replicas": {
    options: [...server, "--set", "replicas=3", "--set", "secrets.existing=gateway-keys"],
    kinds: ["Deployment"],
  },
  "as many as the load asks for, with external secrets and an address": {
    options: [
      ...server,
      ...external,
      "--set",
      "autoscaling.enabled=true",
      "--set",
      "ingress.enabled=true",
      "--set",
      "ingress.tlsSecret=tls",
    ],
    kinds: ["Deployment", "ExternalSecret", "HorizontalPodAutoscaler", "Ingress"],
  },
  "secrets as values": {
    options: [
      ...server,
      "--set",
      "secrets.values.GATEWAY_MASTER_KEYS=v1:fake",
      "--set",
      "env.LOG_FORMAT=json",
      "--set",
      "networkPolicy.from[0].podSelector.matchLabels.app=web",
    ],
    kinds: ["Deployment", "Secret"],
  },
};

/** Values that would lose data or not start, and what is said about them. */
const refusals: readonly { options: readonly string[]; says: RegExp }[] = [
  { options: ["--set", "replicas=2"], says: /Cannot run several replicas on one database file/ },
  { options: ["--set", "autoscaling.enabled=true"], says: /Cannot run several replicas on one database file/ },
  { options: server, says: /Cannot use a database server without master keys/ },
  {
    options: ["--set", "secrets.external.enabled=true"],
    says: /Cannot read external secrets: set secrets.external.store.name/,
  },
];

/** Renders and checks all forms. */
export async function checkChart(): Promise<void> {
  const [helm, kubeconform] = [await goProgram("helm"), await goProgram("kubeconform")];
  const chart = join(root, "deploy/helm/gateway");
  await run(helm, ["lint", "--strict", chart, "--kube-version", kubernetesVersion]);
  const render = (options: readonly string[]) =>
    run(helm, ["template", "gateway", chart, "--kube-version", kubernetesVersion, ...options]);
  const location = join(await writeSchemas(), "{{ .ResourceKind }}{{ .KindSuffix }}.json");
  for (const [form, { options, kinds }] of Object.entries(forms)) {
    const manifest = await render(options);
    const common = ["NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"];
    const found = [...manifest.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind);
    assert.deepEqual(found.sort(), [...common, ...kinds].sort(), form);
    const path = join(createFolder(), "manifest.yaml");
    writeFileSync(path, manifest);
    // the schema of external secrets belongs to another project
    await run(kubeconform, ["-strict", "-summary", "-skip", "ExternalSecret", "-schema-location", location, path]);
  }
  for (const { options, says } of refusals) {
    const outcome = await render(options).then(
      () => "rendered",
      (error: Error) => error.message,
    );
    assert.match(outcome, says);
  }
  console.log(
    `  ${Object.keys(forms).length} forms are valid for Kubernetes ${kubernetesVersion}, ${refusals.length} are refused`,
  );
}
