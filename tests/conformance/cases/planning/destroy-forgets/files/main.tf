resource "terraform_data" "kept" {
  input = "a"
  lifecycle {
    destroy = false
  }
}

resource "terraform_data" "gone" {
  input = "b"
}
