import { resolve } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const gateway = process.env.GATEWAY_URL ?? "http://127.0.0.1:8787";

// `vite` alone serves the sources for development and passes everything that is not the console to a gateway.
export default defineConfig({
  base: "/console/",
  plugins: [react()],
  resolve: { alias: { "@": resolve(import.meta.dirname, "src") } },
  build: {
    outDir: resolve(import.meta.dirname, "../dist/console"),
    emptyOutDir: true,
    // Fonts and icons stay files: the Content-Security-Policy takes no data URL for scripts or styles.
    assetsInlineLimit: 0,
    target: "es2023",
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: {
    port: 5173,
    proxy: { "^/(?!console/(?!session|sign-in)|console$)": { target: gateway, changeOrigin: true } },
  },
});
