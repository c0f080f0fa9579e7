import { shared } from "./en/shared.ts";
import { withoutPrototypes } from "./own-words.ts";

/** The words of the frame, of the overview and of what many pages share: what the first page needs. `text.ts` has all. */
export const text = withoutPrototypes(shared);
