terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
provider "lab" {
  region = "red"
}
provider "lab" {
  alias  = "far"
  region = terraform_data.region.output
}
provider "lab" {
  alias    = "each"
  for_each = toset(["p", "q"])
  region   = "region-${each.key}"
}
resource "terraform_data" "region" {
  input = "blue"
}
resource "terraform_data" "other" {
  input = "x"
}
