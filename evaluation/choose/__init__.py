"""What a choice by predicted speeds costs."""
