resource "terraform_data" "a" {
  count = 2
  input = "a"

  lifecycle {
    destroy = false
  }
}

resource "terraform_data" "b" {
  input = "b"

  lifecycle {
    destroy = false
  }
}
