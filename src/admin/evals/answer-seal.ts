import type { ControlPlane } from "../../control/control-plane.ts";
import { decryptText, encryptText, importDataKey, type Vault } from "../../control/vault.ts";
import { evalSecretKind } from "../../db/stores/eval-runs.ts";
import type { EvalAnswerRow, EvalRunRow } from "../../db/tables/evals.ts";
import type { SecretRow } from "../../db/tables/secrets.ts";
import { NotFoundError } from "../../errors.ts";
import { fromBase64Url, toBase64Url } from "../../lib/base64.ts";
import { randomBytes } from "../../lib/hash.ts";

/** What of an answer is sealed. */
interface AnswerText {
  readonly text: string;
  readonly error: string | null;
  /** What checks say of their verdicts. */
  readonly reasons: Readonly<Record<string, string>>;
}

const secretField = "key";

type RunPlace = Pick<EvalRunRow, "organisationId" | "workspaceId" | "id">;

/** The key of a new run, sealed for the table of secrets. */
export function createRunKey({ id: recordId, ...tenant }: RunPlace, vault: Vault, now: number): Promise<SecretRow> {
  const { organisationId, workspaceId } = tenant;
  const place = { organisationId, workspaceId, kind: evalSecretKind, recordId, field: secretField };
  return vault.seal(place, toBase64Url(randomBytes(32)), now);
}

/** What a sealed answer is bound to: moved to another place, it does not open. */
const boundOf = ({ runId, example, variant }: Pick<EvalAnswerRow, "runId" | "example" | "variant">): string =>
  `eval-answer|v1|${runId}|${example}|${variant}`;

/** Seals and opens the answers of one run. */
export class AnswerSeal {
  readonly #key: CryptoKey;

  constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** The seal of a run. @throws {NotFoundError} If its key was deleted. */
  static async of({ organisationId, workspaceId, id }: RunPlace, control: ControlPlane): Promise<AnswerSeal> {
    const { stores, vault } = control;
    const place = { kind: evalSecretKind, recordId: id, field: secretField };
    const row = await stores.secrets.find({ organisationId, workspaceId }, place);
    if (!row) throw new NotFoundError("Cannot find the answers of this run: they were deleted", { code: "AB08" });
    return new AnswerSeal(await importDataKey(fromBase64Url(await vault.open(row))));
  }

  seal(place: Pick<EvalAnswerRow, "runId" | "example" | "variant">, content: AnswerText): Promise<string> {
    return encryptText(this.#key, boundOf(place), JSON.stringify(content));
  }

  async open(row: EvalAnswerRow): Promise<AnswerText> {
    // `seal` wrote it
    return JSON.parse(await decryptText(this.#key, boundOf(row), row.sealed)) as AnswerText;
  }
}
