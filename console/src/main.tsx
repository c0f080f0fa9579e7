import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./tokens.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { language } from "./text/locale.ts";
import { loadTranslation } from "./text/translation.ts";

const root = document.getElementById("root");
if (root === null) throw new TypeError("index.html has no element with the id root");

document.documentElement.lang = language;
// English stands where words of another language cannot be loaded.
void loadTranslation().finally(() => createRoot(root).render(<App />));
