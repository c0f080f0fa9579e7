import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core";
import { text } from "@/text/frame.ts";

const accent: MantineColorsTuple = [
  "#e3f3f6",
  "#c5e6ec",
  "#99d3de",
  "#66bfce",
  "#3bc9db",
  "#1a94a8",
  "#0b7285",
  "#0b6577",
  "#09545f",
  "#063c45",
];

/** Mantine's theme: what `tokens.css` says, in Mantine's terms. */
export const theme = createTheme({
  primaryColor: "accent",
  primaryShade: 6,
  colors: { accent },
  fontFamily: "var(--font-text)",
  fontFamilyMonospace: "var(--font-code)",
  defaultRadius: "sm",
  radius: { sm: "var(--radius)" },
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.25rem" },
  headings: {
    fontWeight: "600",
    sizes: { h1: { fontSize: "1.25rem" }, h2: { fontSize: "1rem" }, h3: { fontSize: "0.875rem" } },
  },
  respectReducedMotion: true,
  cursorType: "pointer",
  components: {
    Badge: { defaultProps: { radius: "sm", tt: "none" } },
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "xs" } },
    NumberInput: { defaultProps: { size: "xs" } },
    Select: { defaultProps: { size: "xs", checkIconPosition: "right" } },
    // what is typed needs no line of its own below the values
    MultiSelect: { defaultProps: { size: "xs" }, styles: { inputField: { minWidth: "2rem" } } },
    TagsInput: { defaultProps: { size: "xs" }, styles: { inputField: { minWidth: "2rem" } } },
    Textarea: { defaultProps: { size: "xs" } },
    PasswordInput: { defaultProps: { size: "xs" } },
    FileInput: { defaultProps: { size: "xs" } },
    InputWrapper: { defaultProps: { size: "xs" }, styles: { description: { fontSize: "var(--size-xs)" } } },
    Switch: { defaultProps: { size: "xs" } },
    Checkbox: { defaultProps: { size: "xs" } },
    SegmentedControl: {
      defaultProps: { size: "xs" },
      styles: { label: { paddingInline: "clamp(0.375rem, 1.5vw, var(--space-3))" } },
    },
    Modal: { defaultProps: { centered: true } },
    Notification: { defaultProps: () => ({ closeButtonProps: { "aria-label": text.common.close } }) },
    // on small screens tabs scroll in one line
    Tabs: { styles: { list: { flexWrap: "nowrap", overflowX: "auto", overflowY: "hidden" } } },
  },
});

/** Mantine makes inputs and menus of the dark scheme from these. */
const darkShades = [
  "ink",
  "ink-soft",
  "ink-faint",
  "line-strong",
  "line-strong",
  "line",
  "surface-raised",
  "surface",
  "surface-sunken",
  "ground",
];

/** Mantine's colours of grounds, lines and words come from the tokens, in both colour schemes. */
export const cssVariables: CSSVariablesResolver = () => {
  const variables = {
    "--mantine-color-body": "var(--surface)",
    "--mantine-color-text": "var(--ink)",
    "--mantine-color-dimmed": "var(--ink-faint)",
    "--mantine-color-placeholder": "var(--ink-faint)",
    "--mantine-color-default-border": "var(--line)",
    "--mantine-color-error": "var(--bad)",
    "--mantine-color-anchor": "var(--accent-ink)",
    "--mantine-color-disabled-color": "var(--ink-faint)",
    "--combobox-chevron-color": "var(--ink-faint)",
  };
  return {
    variables: {},
    light: variables,
    dark: {
      ...variables,
      "--mantine-color-default": "var(--surface-raised)",
      ...Object.fromEntries(darkShades.map((token, index) => [`--mantine-color-dark-${index}`, `var(--${token})`])),
    },
  };
};
