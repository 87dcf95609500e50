resource "terraform_data" "a" {
  count = 2
  lifecycle {
    destroy = false
  }
}
