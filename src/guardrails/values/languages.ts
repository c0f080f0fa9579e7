/**
 * Languages that are recognised: ISO 639-1, then the code with its script, then further codes for it. Of languages with
 * several scripts or varieties the detector recognises only one.
 */
const listed =
  "am amh_Ethi|ar arb_Arab ara|az azj_Latn aze|be bel_Cyrl|bg bul_Cyrl|bn ben_Beng|ca cat_Latn|cs ces_Latn cze|da dan_Latn|" +
  "de deu_Latn ger|el ell_Grek gre|en eng_Latn|es spa_Latn|et est_Latn|eu eus_Latn baq|fa pes_Arab fas per prs_Arab|" +
  "fi fin_Latn|fr fra_Latn fre|gu guj_Gujr|he heb_Hebr|hi hin_Deva|hr hrv_Latn bos_Latn bs|hu hun_Latn|hy hye_Armn arm|" +
  "is isl_Latn ice|it ita_Latn|ja jpn_Jpan|ka kat_Geor geo|kn kan_Knda|ko kor_Hang|ku ckb_Arab kur|lo lao_Laoo|lt lit_Latn|" +
  "lv lvs_Latn lav|ml mal_Mlym|mr mar_Deva|ms zsm_Latn msa may ind_Latn id|nl nld_Latn dut|no nob_Latn nor nno_Latn nb nn|" +
  "or ory_Orya ori|pa pan_Guru|pl pol_Latn|pt por_Latn|ro ron_Latn rum|ru rus_Cyrl|sk slk_Latn slo|sl slv_Latn|" +
  "sq als_Latn sqi alb|sr srp_Cyrl|sv swe_Latn|ta tam_Taml|te tel_Telu|th tha_Thai|tl tgl_Latn fil|tr tur_Latn|uk ukr_Cyrl|" +
  "ur urd_Arab|vi vie_Latn|yo yor_Latn|zh zho_Hans zho_Hant chi";

const languages = listed.split("|").map((entry) => entry.split(" "));

/** The code with its script by ISO 639-1, such as `eng_Latn`. */
export const labels: ReadonlyMap<string, string> = new Map(languages.map(([short = "", label = ""]) => [short, label]));

/** ISO 639-1 by every code, in lower case. */
const byCode = new Map(
  languages.flatMap(([short = "", ...codes]) =>
    [short, ...codes, ...codes.map((code) => code.slice(0, 3))].map((code) => [code.toLowerCase(), short] as const),
  ),
);

/** ISO 639-1 of a code such as `eng_Latn`, `eng`, `en` or `en-US`; undefined for a language that is not recognised. */
export function toLanguage(code: string): string | undefined {
  const plain = code.trim().toLowerCase().replaceAll("-", "_");
  return byCode.get(plain) ?? byCode.get(plain.split("_")[0] ?? "");
}
