resource "terraform_data" "gone" {
  input = { a = 1 }
}

resource "terraform_data" "kept" {
  triggers_replace = [1]

  lifecycle {
    destroy = false
  }
}
