resource "terraform_data" "x" {
  lifecycle {
    precondition {
      condition     = path.module == "elsewhere"
      error_message = "Not here."
    }
  }
}
