import type { HookResult } from "../schemas/hooks.ts";
import type { Body, CheckInput } from "./types.ts";
import type { Placeholders } from "./values/placeholders.ts";

/** What the hooks of one phase check. */
export interface Subject
  extends Omit<
    CheckInput,
    "strings" | "text" | "rest" | "readPieces" | "mustSeeAll" | "isOrganisations" | "placeholders" | "work"
  > {
  /** Absent: the numbers begin with this phase. */
  readonly placeholders?: Placeholders;
  /** Why the body cannot be changed; absent where it can. */
  readonly fixedBecause?: string;
  /** The response was already sent: it cannot be denied. */
  readonly isSent?: boolean;
  /** Only its beginning is available. */
  readonly isCut?: boolean;
  /** Strings of the events of a streamed response, also those that its body lacks. */
  readonly streamStrings?: readonly string[];
  /** Restores digits of numbers in its text that JavaScript cannot represent. */
  readonly restoreNumbers?: (text: string) => string;
}

/** Result of the hooks of one phase. */
export interface PhaseOutcome {
  /** In the order of the hooks; hooks that skipped are left out. */
  readonly results: readonly HookResult[];
  /** The request, or after the call the response, with the changes of the hooks. */
  readonly body: Body;
  readonly isTransformed: boolean;
  /** Headers for the provider's request, by name in lower case; null removes a header. */
  readonly headers: Readonly<Record<string, string | null>>;
  /** A hook failed. */
  readonly isFailed: boolean;
  /** A denying hook failed. */
  readonly isDenied: boolean;
  /** The denial is sent as a response with status 200. */
  readonly isSoft: boolean;
}
