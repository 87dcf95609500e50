resource "terraform_data" "p" {}
removed {
  from = terraform_data.r
  lifecycle {
    destroy = false
  }
}
