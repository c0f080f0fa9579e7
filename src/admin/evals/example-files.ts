import * as v from "valibot";
import type { CallerContext } from "../../context.ts";
import type { WorkspaceTenant } from "../../db/stores/record-pages.ts";
import type { ExampleVersionRow } from "../../db/tables/evals.ts";
import { requireScopes } from "../../endpoint/role.ts";
import { NotFoundError } from "../../errors.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { firstPlainIssue } from "../../lib/issues.ts";
import { findJsonExcess, isObject, parseJson } from "../../lib/json.ts";
import { readLines } from "../../lib/lines.ts";
import { giveWay } from "../../lib/pace.ts";
import { Example, maxExampleBytes, maxExamples } from "../../schemas/example-sets.ts";
import { refuseField, requireReferenced } from "../core/request.ts";

/** Longest example. */
const maxLineBytes = 1024 * 1024;

/** @throws {InvalidRequestError} AB01 for more than a version can hold. */
function requireRoom(count: number, bytes: number, param: string): void {
  if (count > maxExamples) refuseField(param, `must have at most ${maxExamples} examples in all`);
  if (bytes > maxExampleBytes) refuseField(param, `must have at most ${maxExampleBytes / 2 ** 20} MiB in all`);
}

/** Examples as JSON Lines. @throws {InvalidRequestError} AB01 for more than a version can hold. */
export function writeExamples(examples: readonly Example[], param: string): Uint8Array<ArrayBuffer> {
  const content = new TextEncoder().encode(examples.map((example) => `${JSON.stringify(example)}\n`).join(""));
  requireRoom(examples.length, content.length, param);
  return content;
}

/** An example of a line. @throws {InvalidRequestError} AB01, naming the line. */
function parseLine(bytes: Uint8Array, line: number): Example {
  const place = `line ${line}`;
  const excess = findJsonExcess(bytes);
  if (excess !== undefined) return refuseField("file_id", `${place} ${excess}`);
  const value = parseJson(new TextDecoder().decode(bytes));
  if (!isObject(value)) return refuseField("file_id", `${place} must be a JSON object`);
  const checked = v.safeParse(Example, value, firstPlainIssue);
  if (checked.success) return checked.output;
  const path = v.getDotPath(checked.issues[0]);
  return refuseField("file_id", `${place}: ${path === null ? "" : `${path} `}${checked.issues[0].message}`);
}

/**
 * Examples of a file that was uploaded.
 *
 * @throws {InvalidRequestError} AB01, naming the line that is wrong.
 */
export async function readUploaded(
  fileId: string,
  tenant: WorkspaceTenant,
  context: CallerContext,
): Promise<Example[]> {
  // as the routes of files require
  await requireScopes(context, ["completions.write"]);
  const { files } = context.services;
  const file = requireReferenced(await files.find(tenant, fileId), "file_id");
  requireRoom(0, file.bytes, "file_id");
  const examples: Example[] = [];
  let line = 0;
  for await (const { bytes, isTooLong } of readLines(files.read(file), { maxBytes: maxLineBytes })) {
    line++;
    if (isTooLong) refuseField("file_id", `line ${line} must have at most ${maxLineBytes / 2 ** 20} MiB`);
    if (new TextDecoder().decode(bytes).trim() === "") continue;
    examples.push(parseLine(bytes, line));
    requireRoom(examples.length, 0, "file_id");
    await giveWay();
  }
  return examples.length > 0 ? examples : refuseField("file_id", "has no line");
}

/** The examples of a version. @throws {NotFoundError} AB08 once they were removed. */
export async function readExamples(
  { fileId, ...row }: ExampleVersionRow,
  { files }: Pick<CallerContext["services"], "files">,
): Promise<Example[]> {
  const { organisationId, workspaceId } = row;
  const file = await files.findHidden({ organisationId, workspaceId }, fileId);
  if (!file) throw new NotFoundError("Cannot find the examples of this version: they have expired", { code: "AB08" });
  const pieces: Uint8Array[] = [];
  for await (const piece of files.read(file)) pieces.push(piece);
  const lines = new TextDecoder().decode(joinBytes(pieces)).split("\n");
  // `writeExamples` wrote them
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Example);
}
