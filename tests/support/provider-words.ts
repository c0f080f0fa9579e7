// Rules that hold the names of providers and of their settings in src/providers.

import { builtInProviders } from "../../src/providers/registry.ts";
import type { Rule } from "./architecture.ts";
import type { SourceFile, Token } from "./source-files.ts";

/** A word that is also the name of a provider or of a setting, where it stands for something else, and for what. */
interface OtherMeaning {
  /** Beginnings of paths. */
  readonly paths: readonly string[];
  /** Absent: every word of these files. */
  readonly word?: string;
  readonly reason: string;
}

const otherMeanings: readonly OtherMeaning[] = [
  { paths: ["src/admin/scim/", "src/schemas/scim.ts"], word: "meta", reason: "an attribute of every SCIM resource" },
  {
    paths: [
      "src/routing/",
      "src/schemas/routing.ts",
      "src/openapi/routing-config.ts",
      "src/inference/target/body-config.ts",
    ],
    word: "passthrough",
    reason: "a member of configs",
  },
  { paths: ["src/schemas/chat.ts"], word: "echo", reason: "a field of OpenAI's completions" },
  {
    paths: ["src/inference/realtime/realtime.ts", "src/inference/routes/native-endpoints.ts"],
    word: "openai-beta",
    reason: "a header of OpenAI's clients",
  },
  {
    paths: ["src/inference/routes/messages-models.ts", "src/serve/agent-settings.ts"],
    word: "anthropic-version",
    reason: "a header of Anthropic's clients",
  },
  {
    paths: ["src/inference/batches/provider-step.ts", "src/inference/records/tuning-files.ts"],
    word: "x-gateway-provider-file-name",
    reason: "what the gateway calls the files it uploads, at any provider",
  },
  {
    paths: ["src/moving/", "src/serve/import-commands.ts"],
    reason: "how other gateways name providers and their settings",
  },
  {
    paths: ["src/guardrails/partners/", "src/gateway/guardrails.ts"],
    reason: "partners of guardrails, some of which are also providers",
  },
  {
    paths: ["src/schemas/secret-references.ts", "src/control/secret-managers/"],
    reason: "members of secret managers, some under the names providers have for theirs",
  },
];

const slugs: ReadonlySet<string> = new Set(builtInProviders.map(({ slug }) => slug));

const settings: ReadonlySet<string> = new Set(
  builtInProviders
    .flatMap((provider) => [...provider.settings, ...provider.unreadSettings])
    .flatMap(({ member, header }) => [member, header, `x-gateway-${header}`]),
);

const hasOtherMeaning = (path: string, text: string): boolean =>
  otherMeanings.some(({ paths, word = text }) => word === text && paths.some((start) => path.startsWith(start)));

/** Strings, and keys of objects and types. */
function namesOf({ tokens }: SourceFile): Token[] {
  return tokens.filter(({ kind, text }, index) => {
    if (kind === "string") return true;
    const isKey = tokens[index + 1]?.text === ":" && ["{", ",", ";"].includes(tokens[index - 1]?.text ?? "");
    return kind === "word" && isKey && text !== "";
  });
}

function findWords(files: readonly SourceFile[], words: ReadonlySet<string>, what: string): string[] {
  return files
    .filter(({ path }) => path.startsWith("src/") && !path.startsWith("src/providers/"))
    .flatMap((file) =>
      namesOf(file)
        .filter(({ text }) => words.has(text) && !hasOtherMeaning(file.path, text))
        .map(({ text, line }) => `${file.path}:${line}: names the ${what} ${text}`),
    );
}

/** Slugs of providers outside `src/providers`: what differs by provider is asked of the provider. */
export const providerSlugs: Rule = (files) => findWords(files, slugs, "provider");

/** Settings of providers outside `src/providers`: a setting says of itself what others need to know. */
export const providerSettings: Rule = (files) => findWords(files, settings, "setting");
