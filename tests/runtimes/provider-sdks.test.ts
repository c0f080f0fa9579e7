import { aiSdk, openaiSdk } from "../support/chat-sdks.ts";
import { testProviders } from "../support/provider-runs.ts";

testProviders([openaiSdk, aiSdk]);
