resource "terraform_data" "a" {
  count = 1
  input = "a"

  lifecycle {
    destroy = false
  }
}
