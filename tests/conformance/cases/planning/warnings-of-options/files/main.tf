variable "old" {
  default    = "x"
  deprecated = "use new"
}

resource "terraform_data" "many" {
  count = 2
  input = var.old
}

resource "terraform_data" "none" {
  count = 0
}

check "later" {
  assert {
    condition     = terraform_data.many[0].id != ""
    error_message = "No id."
  }
}
