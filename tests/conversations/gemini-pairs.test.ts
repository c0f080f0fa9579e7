import { createGeminiClient } from "./gemini-client.ts";
import { testPairs } from "./pairs.ts";

testPairs("gemini", createGeminiClient);
