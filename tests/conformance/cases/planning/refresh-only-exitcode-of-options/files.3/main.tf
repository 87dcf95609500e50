terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "r" {
 name="r"
 depends_on=[terraform_data.x]
}
resource "terraform_data" "x" {}
