// What a release consists of: a bill of materials (CycloneDX 1.6) and the digests of all files.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { digestOf, releaseFolder, root, run, sourceDate, version } from "./run.ts";

interface Locked {
  version?: string;
  integrity?: string;
  license?: string;
  dev?: boolean;
  devOptional?: boolean;
  optional?: boolean;
  link?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** Packages of the lock that a program has inside, by their paths: what the dependencies need, tools left out. */
function shippedPackages(): Map<string, Locked> {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked>;
  };
  const found = new Map<string, Locked>();
  const visit = (from: string, names: readonly string[]) => {
    for (const name of names) {
      // the nearest folder of packages, as Node looks it up
      const folders = from
        .split("/node_modules/")
        .map((_, index, all) => all.slice(0, index + 1).join("/node_modules/"));
      const places = [...folders.reverse().map((folder) => `${folder}/node_modules/${name}`), `node_modules/${name}`];
      const path = places.find((one) => packages[one] !== undefined);
      const entry = path === undefined ? undefined : packages[path];
      if (path === undefined || entry === undefined || entry.link || found.has(path)) continue;
      found.set(path, entry);
      visit(path, [...Object.keys(entry.dependencies ?? {}), ...Object.keys(entry.optionalDependencies ?? {})]);
    }
  };
  visit("", Object.keys(packages[""]?.dependencies ?? {}));
  return found;
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
const purlOf = (name: string, exact: string) => `pkg:npm/${name.replace("@", "%40")}@${exact}`;

function toComponent(path: string, { version: exact = "", integrity, license }: Locked): Record<string, unknown> {
  const name = nameOf(path);
  const purl = purlOf(name, exact);
  const hash = /^sha512-(.+)$/.exec(integrity ?? "")?.[1];
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version: exact,
    purl,
    ...(license && { licenses: [{ expression: license }] }),
    ...(hash && { hashes: [{ alg: "SHA-512", content: Buffer.from(hash, "base64").toString("hex") }] }),
  };
}

/** The runtime inside the single programs. */
function runtimeComponent(): Record<string, unknown> {
  const { version: exact } = JSON.parse(readFileSync(join(root, "node_modules/bun/package.json"), "utf8"));
  return {
    type: "platform",
    "bom-ref": purlOf("bun", exact),
    name: "bun",
    version: exact,
    purl: purlOf("bun", exact),
    licenses: [{ expression: "MIT" }],
  };
}

/** Writes the bill of materials and the digests. */
export async function checkMaterials(): Promise<void> {
  const packages = [...shippedPackages()].map(([path, entry]) => toComponent(path, entry));
  const components = [
    ...new Map([...packages, runtimeComponent()].map((one) => [String(one["bom-ref"]), one])).values(),
  ];
  const self = `pkg:npm/%40gateway/gateway@${version}`;
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(sourceDate * 1_000).toISOString(),
      component: {
        type: "application",
        "bom-ref": self,
        name: "gateway",
        version,
        purl: self,
        licenses: [{ expression: "MIT" }],
      },
    },
    components: components.toSorted((one, other) => (String(one.purl) < String(other.purl) ? -1 : 1)),
  };
  const direct = Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies);
  for (const name of direct)
    assert.ok(
      components.some((one) => one.name === name),
      `${name} is missing`,
    );
  for (const { name, licenses } of components) assert.ok(licenses, `${name} states no licence`);
  writeFileSync(join(releaseFolder, `gateway-${version}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
  const files = readdirSync(releaseFolder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name !== "SHA256SUMS",
  );
  const lines = await Promise.all(
    files.map(async ({ name }) => `${await digestOf(join(releaseFolder, name))}  ${name}\n`),
  );
  writeFileSync(
    join(releaseFolder, "SHA256SUMS"),
    lines.toSorted((one, other) => (one.slice(66) < other.slice(66) ? -1 : 1)).join(""),
  );
  if (existsSync("/usr/bin/sha256sum"))
    await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: releaseFolder });
  console.log(`  ${components.length} components, ${files.length} digests`);
}
