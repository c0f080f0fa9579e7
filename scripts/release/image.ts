// The container image, built from deploy/Containerfile without a container engine, and run in a read-only root without rights.

import assert from "node:assert/strict";
import { chownSync, cpSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { createFolder, withGateway } from "../../tests/support/process.ts";
import { compileFor } from "./binaries.ts";
import { debianSystem } from "./debian.ts";
import {
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

/** Largest image: 130 MiB, unpacked. */
const maxBytes = 130 * 1024 * 1024;
/** User of the image. */
const userId = 10_001;

/** Runs buildah with its storage in a folder. */
function createBuildah(storage: string) {
  const places = ["--root", join(storage, "root"), "--runroot", join(storage, "run"), "--storage-driver", "vfs"];
  const env = { BUILDAH_ISOLATION: "chroot" };
  return async (command: string, ...args: string[]) =>
    (await run("buildah", [...places, command, ...args], { env })).trim();
}

interface ImageConfig {
  Env: string[];
  User: string;
  Entrypoint: string[];
  Healthcheck?: { Test: string[] };
}

/** Variables of the image. */
function variablesOf({ Env }: ImageConfig): Record<string, string> {
  return Object.fromEntries(Env.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

/** A command that runs a program of the image as its user, with a root that cannot be written. */
function inside(folder: string, data: string, command: readonly string[]): string[] {
  const script = `
    mount --make-rprivate / && mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" &&
    mount --bind "$2" "$1/data" && mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" || exit 9
    folder=$1; shift 2; exec chroot --userspec=${userId}:${userId} "$folder" "$@"`;
  return ["unshare", "--mount", "sh", "-c", script, "sh", folder, data, ...command];
}

/** Requires that the image serves and that its health check passes only while it does. */
async function checkImageRuns(folder: string, config: ImageConfig): Promise<void> {
  const data = createFolder();
  chownSync(data, userId, userId);
  const [test, ...health] = config.Healthcheck?.Test ?? [];
  assert.equal(test, "CMD");
  const env = { ...variablesOf(config), PORT: "0" };
  await withGateway({ command: inside(folder, data, config.Entrypoint), env }, async (gateway) => {
    await requireAnswer(gateway.url, gateway.workspaceKey);
    const healthEnv = { ...env, PORT: new URL(gateway.url).port };
    const [program = "", ...args] = inside(folder, data, health);
    await run(program, args, { env: healthEnv });
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null }, gateway.output());
    await run(program, args, { env: healthEnv, codes: [1] });
  });
}

/** Builds the image into an archive that `docker load` and `podman load` take, and checks it. */
export async function checkImage(): Promise<void> {
  requirePrograms("buildah", "debootstrap", "unshare", "chroot");
  const storage = createFolder();
  const buildah = createBuildah(storage);
  const base = "localhost/gateway-base";
  const container = await buildah("from", "scratch");
  await buildah("copy", "--quiet", container, await debianSystem(), "/");
  await buildah("commit", "--quiet", container, base);
  const context = createFolder();
  const program = await compileFor({ platform: `linux-${process.arch}`, bytecode: false });
  cpSync(program, join(context, "gateway"));
  const name = `localhost/gateway:${version}`;
  const options = [
    "--format",
    "docker",
    "--pull-never",
    "--timestamp",
    String(sourceDate),
    "--build-arg",
    `BASE=${base}`,
  ];
  await buildah("bud", ...options, "-f", join(root, "deploy/Containerfile"), "-t", name, context);
  const archive = join(releaseFolder, `gateway-${version}-image-linux-${process.arch}.tar`);
  mkdirSync(releaseFolder, { recursive: true });
  rmSync(archive, { force: true });
  await buildah("push", "--quiet", name, `docker-archive:${archive}:gateway:${version}`);
  const mounted = await buildah("mount", await buildah("from", "--pull-never", name));
  const bytes = sizeOf(mounted);
  assert.ok(bytes < maxBytes, `the image has ${megabytes(bytes)}`);
  const { config } = JSON.parse(await buildah("inspect", "--type", "image", name)).Docker;
  assert.equal(config.User, `${userId}:${userId}`);
  // volumes get the owner that the folder has in the image
  assert.equal(statSync(join(mounted, "data")).uid, userId);
  await checkImageRuns(mounted, config);
  await run("gzip", ["-9nf", archive]);
  const packed = megabytes(sizeOf(`${archive}.gz`));
  console.log(
    `  ${archive.slice(root.length + 1)}.gz: ${packed}, unpacked ${megabytes(bytes)}; serves without rights in a read-only root`,
  );
  rmSync(storage, { recursive: true, force: true });
}
