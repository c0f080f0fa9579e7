import { Anchor, Code, Text } from "@mantine/core";
import type { ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

/** Links of other schemes than these are shown as words only. */
const safeScheme = /^(https?|mailto):/i;

const components: Components = {
  a: ({ href, children }) =>
    typeof href === "string" && safeScheme.test(href) ? (
      <Anchor href={href} target="_blank" rel="noopener noreferrer nofollow" inherit>
        {children}
      </Anchor>
    ) : (
      <span>{children}</span>
    ),
  // A remote image would tell its host who reads the log. Its address is shown instead.
  img: ({ src, alt }) => (
    <Text span size="sm" c="dimmed">
      [{alt === "" || alt === undefined ? "image" : alt}: {typeof src === "string" ? src : ""}]
    </Text>
  ),
  code: ({ children }) => <Code>{children}</Code>,
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <pre tabIndex={0} style={{ overflow: "auto" }}>
      {children}
    </pre>
  ),
};

/** Markdown a model wrote. HTML in it is shown as it stands, and no address in it is loaded. */
export function Markdown({ children }: { readonly children: string }): ReactNode {
  return (
    <ReactMarkdown
      remarkPlugins={[remarkGfm]}
      components={components}
      urlTransform={(url) => (safeScheme.test(url) ? url : "")}
    >
      {children}
    </ReactMarkdown>
  );
}
