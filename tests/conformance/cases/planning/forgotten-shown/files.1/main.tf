removed {
  from = terraform_data.gone

  lifecycle {
    destroy = false
  }
}

resource "terraform_data" "kept" {
  triggers_replace = [2]

  lifecycle {
    destroy = false
  }
}
