import { anthropic } from "./anthropic.ts";
import { deepseek } from "./deepseek.ts";
import type { Emulator } from "./emulator.ts";
import { openaiChat } from "./openai-chat.ts";

/** The emulated APIs. */
export const emulators: readonly Emulator[] = [openaiChat, anthropic, deepseek];
