"""Scripts that give survey software the replicate weights of a release: R, Python, Stata and SAS.

All compute the variance that the dictionary states. R, Stata and SAS call it balanced repeated
replication without Fay's factor, about the full-sample estimate.
"""

from collections.abc import Iterator
from functools import cache

from jinja2 import Template

from hallmark.schemas.documents.data_dictionary import DataDictionary, DictionaryReplicates
from hallmark.tasks.rendering.loading import csv_file, r_text, stata_text
from hallmark.tasks.rendering.templating import templates

PYTHON, R, STATA, SAS = "survey.py", "survey.R", "survey.do", "survey.sas"


def survey_scripts(dictionary: DataDictionary) -> dict[str, str]:
    """The scripts by name; none without replicate weights.

    Stata and SAS read no Parquet, so they get scripts where data and weights are in CSV files.
    """
    told = dictionary.replicates
    if told is None:
        return {}
    file = next((name for name in told.files if name.endswith(".csv")), told.files[0])
    data = csv_file(dictionary)
    scripts = {
        PYTHON: _template("survey.py.j2").render(weights=file),
        R: "\n".join(_r(told, file)) + "\n",
    }
    if data and file.endswith(".csv"):
        taken = {column.name.lower() for column in dictionary.columns}
        weight = f"record_{told.weight}" if told.weight in taken else told.weight
        scripts[STATA] = "\n".join(_stata(told, file, weight)) + "\n"
        scripts[SAS] = _template("survey.sas.j2").render(
            data=data,
            delimiter=dictionary.csv_delimiter,
            encoding=dictionary.csv_encoding,
            weights=file,
            told=told,
            weight=weight,
        )
    return scripts


def _r(told: DictionaryReplicates, file: str) -> Iterator[str]:
    yield "# Survey designs of this release, from its replicate weights. With the package survey:"
    yield '#   source("survey.R", chdir = TRUE)'
    yield "#   svymean(~ income, noise)     # for the private table's own mean"
    yield "#   svymean(~ income, sampling)  # for that of the population it is a sample of"
    yield "suppressPackageStartupMessages(library(survey))"
    yield 'source("load.R", chdir = TRUE)'
    if file.endswith(".csv"):
        yield f"weights <- read.csv({r_text(file)})"
    else:
        yield f"weights <- as.data.frame(arrow::read_parquet({r_text(file)}))"
    for design, prefix in (("noise", told.noise), ("sampling", told.sampling)):
        yield f"{design} <- svrepdesign("
        yield f"  data = release, weights = weights[[{r_text(told.weight)}]],"
        yield f"  repweights = weights[startsWith(names(weights), {r_text(prefix)})],"
        yield f'  type = "other", scale = 1 / {told.number}, rscales = rep(1, {told.number}),'
        yield f"  combined.weights = TRUE, mse = TRUE, degf = {told.degrees_of_freedom}"
        yield ")"
    yield "rm(weights)"


def _stata(told: DictionaryReplicates, file: str, weight: str) -> Iterator[str]:
    yield "* Records of this release with their replicate weights. In Stata: do survey.do"
    yield "* Then: svy: mean income"
    yield "do load.do"
    yield "generate long __row = _n"
    yield "tempfile records"
    yield "save `records'"
    yield f"import delimited using {stata_text(file)}, clear varnames(1) case(preserve) asdouble"
    if weight != told.weight:
        yield f"rename {told.weight} {weight}"
    yield "generate long __row = _n"
    yield "merge 1:1 __row using `records', assert(match) nogenerate"
    yield "sort __row"
    yield "drop __row"
    yield "* The noise alone: how far from the private table's own number."
    yield from _svyset(told.noise, told, weight, "")
    yield "* Noise and sampling, for the population that the table is a sample of:"
    yield from _svyset(told.sampling, told, weight, "* ")


def _svyset(prefix: str, told: DictionaryReplicates, weight: str, comment: str) -> Iterator[str]:
    yield (
        f"{comment}svyset [pweight = {weight}], vce(brr) "
        f"brrweight({prefix}1-{prefix}{told.number}) mse dof({told.degrees_of_freedom})"
    )


@cache
def _template(name: str) -> Template:
    return templates(autoescape=False).get_template(
        name
    )  # nothing of a spec but file names is in them
