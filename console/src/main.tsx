import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./tokens.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";

const root = document.getElementById("root");
if (root === null) throw new TypeError("index.html has no element with the id root");
createRoot(root).render(<App />);
