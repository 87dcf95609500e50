terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

import {
  to = lab_widget.gone
  id = "lab-1"
}
