
terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "zones" {
  type = string
}
provider "lab" {
  alias    = "zone"
  for_each = var.zones
  region   = each.value
}
resource "lab_thing" "node" {
  for_each = toset(["a"])
  provider = lab.zone[each.key]
  name     = each.key
}
