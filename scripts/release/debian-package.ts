// The Debian package: the program, its unit and a file of variables.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createFolder, fakeWorkspaceKey, waitFor } from "../../tests/support/process.ts";
import { compileFor } from "./binaries.ts";
import { debianSystem } from "./debian.ts";
import {
  author,
  digestOf,
  findProgram,
  freePort,
  megabytes,
  releaseFolder,
  requireAnswer,
  requirePrograms,
  root,
  run,
  sizeOf,
  sourceDate,
  version,
} from "./run.ts";

const packageName = "ai-gateway";
const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
/** Time for the boot of a system. */
const bootMs = 180_000;

const control = (architecture: string, installedKilobytes: number) => `Package: ${packageName}
Version: ${version}
Architecture: ${architecture}
Maintainer: ${author}
Installed-Size: ${installedKilobytes}
Depends: libc6 (>= 2.28), libgcc-s1
Recommends: systemd
Section: net
Priority: optional
Description: AI gateway
 One API in front of many model providers, with access control, routing,
 limits, guardrails, a console and a complete request log.
`;

/** Puts a file into the tree of the package. */
function place(from: string, to: string, mode = 0o644): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
  cpSync(from, to);
  chmodSync(to, mode);
}

/** Builds the package of an architecture. */
async function buildDebianPackage(program: string, architecture: string): Promise<string> {
  const tree = join(createFolder(), packageName);
  const deploy = join(root, "deploy");
  mkdirSync(tree, { mode: 0o755 });
  place(program, join(tree, "usr/bin/gateway"), 0o755);
  place(join(deploy, "systemd/gateway.service"), join(tree, "lib/systemd/system/gateway.service"));
  // only its group of administrators reads secrets
  place(join(deploy, "debian/gateway.env"), join(tree, "etc/gateway/gateway.env"), 0o640);
  place(join(root, "LICENSE"), join(tree, `usr/share/doc/${packageName}/copyright`));
  place(join(root, "docs/production.md"), join(tree, `usr/share/doc/${packageName}/production.md`));
  for (const name of ["postinst", "prerm", "postrm"])
    place(join(deploy, "debian", name), join(tree, "DEBIAN", name), 0o755);
  writeFileSync(join(tree, "DEBIAN/conffiles"), "/etc/gateway/gateway.env\n");
  writeFileSync(join(tree, "DEBIAN/control"), control(architecture, Math.ceil(sizeOf(tree) / 1024)));
  const file = join(releaseFolder, `${packageName}_${version}_${architecture}.deb`);
  const env = { SOURCE_DATE_EPOCH: String(sourceDate) };
  await run("dpkg-deb", ["--build", "--root-owner-group", "-Zgzip", "-z6", tree, file], { env });
  return file;
}

/** Boots a system in which the package is installed, and requires that its service answers and stops in order. */
async function checkBooted(system: string): Promise<void> {
  const port = await freePort();
  const variables = `PORT=${port}\nBOOTSTRAP_WORKSPACE_KEY=${fakeWorkspaceKey}\n`;
  appendFileSync(join(system, "etc/gateway/gateway.env"), variables);
  await run("chroot", [system, "systemctl", "enable", "gateway.service"]);
  const args = [
    "--quiet",
    "--register=no",
    "--keep-unit",
    "--kill-signal=SIGRTMIN+4",
    "--console=pipe",
    "-D",
    system,
    "--boot",
  ];
  const child = spawn("systemd-nspawn", args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: Buffer) => (output += text.toString()));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  try {
    let isUp = false;
    const look = setInterval(() => {
      fetch(`http://127.0.0.1:${port}/ready`).then(
        ({ ok }) => {
          isUp ||= ok;
        },
        () => {},
      );
    }, 500);
    await waitFor("the service to serve", bootMs, () => isUp || (child.exitCode !== null && output)).finally(() =>
      clearInterval(look),
    );
    assert.ok(isUp, output);
    await requireAnswer(`http://127.0.0.1:${port}`, fakeWorkspaceKey);
  } catch (error) {
    throw new Error(`Cannot use the service: ${output.slice(-3_000)}`, { cause: error });
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

/** Builds the package, and installs and starts it in a Debian system. */
export async function checkDebianPackage(): Promise<void> {
  requirePrograms("dpkg-deb", "debootstrap", "chroot");
  const architecture = architectures[process.arch] ?? process.arch;
  const program = await compileFor({ platform: `linux-${process.arch}` });
  const file = await buildDebianPackage(program, architecture);
  const digest = await digestOf(file);
  assert.equal(await digestOf(await buildDebianPackage(program, architecture)), digest, "two builds differ");
  console.log(`  ${file.slice(root.length + 1)}: ${megabytes(sizeOf(file))}; two builds are equal`);
  const system = join(createFolder(), "system");
  await run("cp", ["-a", await debianSystem(), system]);
  await run("cp", [file, join(system, "package.deb")]);
  await run("chroot", [system, "dpkg", "-i", "/package.deb"]);
  if (findProgram("systemd-nspawn")) {
    const inside = ["--quiet", "--register=no", "--keep-unit", "--pipe", "-D", system];
    assert.equal((await run("systemd-nspawn", [...inside, "/usr/bin/gateway", "--version"])).trim(), version);
    await checkBooted(system);
    console.log("  installed in Debian, its service answers after a boot");
  } else console.log("  installed in Debian; its service was not started: systemd-nspawn is missing");
  await run("chroot", [system, "dpkg", "--purge", packageName]);
  rmSync(system, { recursive: true, force: true });
}
